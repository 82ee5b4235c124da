/** The Python that runs what is written for Scrapy, with Scrapy's version, and whether it builds wheels; undefined if none imports it. */
export function findScrapy():
  | { readonly python: string; readonly version: string; readonly builds: boolean }
  | undefined;
