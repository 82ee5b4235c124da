/** The Python that runs what is written for Scrapy, with Scrapy's version; undefined if none imports it. */
export function findScrapy(): { readonly python: string; readonly version: string } | undefined;
