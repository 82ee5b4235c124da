/** Names that the test makes and keeps, so that most requests meet a filter. */
export const NAMES = ['counting', 'multiset', 'standard', 'visited', 'other-visited', 'absent'] as const;
