/** Names that the test keeps in use, so that most requests reach a filter. */
export const NAMES = ['counting', 'multiset', 'standard', 'visited', 'other-visited', 'absent'] as const;
