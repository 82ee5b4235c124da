/** The text of a generated file, as `npm run format` would leave it. */
export function format(file: string, text: string): Promise<string>;
