/** A share as a bar. The text next to it says the same in words. */
export function Bar({
  value,
  most,
  tone = 'plain',
  label,
}: {
  readonly value: number;
  readonly most: number;
  readonly tone?: 'plain' | 'warn' | 'bad' | 'info';
  readonly label: string;
}): preact.JSX.Element {
  const max = most > 0 ? most : 1;
  return <progress class={`bar ${tone}`} value={Math.min(value, max)} max={max} aria-label={label} />;
}
