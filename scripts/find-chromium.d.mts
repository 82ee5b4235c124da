/** The browser in which the dashboard is tested, with its version; undefined if there is none. */
export function findChromium(): { readonly path: string; readonly version: string } | undefined;
