/** Whether `npm run build` has built the checkout, maybe from older sources. */
export function isBuilt(): boolean;

/** Throws if the checkout isn't built. */
export function assertBuilt(): void;

/** Ends the process with a message if the checkout isn't built. */
export function exitUnlessBuilt(): void;
