/** The Python that imports scrapy-redis with a PYTHONPATH; undefined if none does. */
export function findScrapyRedis():
  | { readonly python: string; readonly pythonPath: string; readonly version: string }
  | undefined;
