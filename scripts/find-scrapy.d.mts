/**
 * The Python that runs programs for Scrapy, with Scrapy's version, and whether it builds and installs wheels; undefined
 * if no Python imports Scrapy.
 */
export function findScrapy():
  | { readonly python: string; readonly version: string; readonly builds: boolean }
  | undefined;
