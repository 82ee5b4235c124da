const NAMESPACE = 'http://www.sitemaps.org/schemas/sitemap/0.9';

/** A sitemap with one entry per line from the second line on. Its images aren't pages. */
export function urlset(...locs: string[]): string {
  const entries = locs.map(
    (loc) =>
      `<url><loc>${loc}</loc><image:image><image:loc>https://example.org/image</image:loc></image:image></url>`,
  );
  const images = 'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"';
  return `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="${NAMESPACE}" ${images}>${entries.join('\n')}</urlset>`;
}

/** A sitemap index. */
export function index(...locs: string[]): string {
  const entries = locs.map((loc) => `<sitemap><loc>${loc}</loc></sitemap>`);
  return `<sitemapindex xmlns="${NAMESPACE}">${entries.join('')}</sitemapindex>`;
}
