import { PREFIX_ENDS } from '#store';

/**
 * The prefix for a tenant's names. It ends with a punctuation character, so no name has both prefixes `a-` and `ab-`.
 */
export const PREFIX_PATTERN = new RegExp(`^[A-Za-z0-9]([A-Za-z0-9${PREFIX_ENDS}]{0,30}[${PREFIX_ENDS}])$`);
export const PREFIX_REQUIREMENT =
  'be 2 to 32 of A-Z, a-z, 0-9, ".", "_", ":" and "-", begin with a letter or digit, and end with ".", "_", ":" or "-"';
