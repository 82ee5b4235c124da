/**
 * The prefix of a tenant's names. It ends with a punctuation character, so no name has both prefixes `a-` and `ab-`.
 */
export const PREFIX_PATTERN = /^[a-z0-9]([a-z0-9._-]{0,30}[._-])$/;
export const PREFIX_REQUIREMENT =
  'be 2 to 32 of a-z, 0-9, ".", "_" and "-", begin with a letter or digit, and end with ".", "_" or "-"';
