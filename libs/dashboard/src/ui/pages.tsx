import { whole } from '../format.js';
import { Button } from './button.js';

/** Shows the current page of a long list, and buttons for the other pages. */
export function Pages({
  page,
  size,
  total,
  onPage,
}: {
  /** From 0. */
  readonly page: number;
  readonly size: number;
  readonly total: number;
  readonly onPage: (page: number) => void;
}): preact.JSX.Element | null {
  if (total <= size) return null;
  const last = Math.ceil(total / size) - 1;
  return (
    <nav class="pages" aria-label="Pages">
      <Button onClick={() => onPage(page - 1)} disabled={page === 0}>
        Back
      </Button>
      <span>
        {whole(page * size + 1)} to {whole(Math.min(total, (page + 1) * size))} of {whole(total)}
      </span>
      <Button onClick={() => onPage(page + 1)} disabled={page >= last}>
        Next
      </Button>
    </nav>
  );
}
