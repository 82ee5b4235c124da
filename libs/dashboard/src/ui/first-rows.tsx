import { DataTable, type TableProps } from './data-table.js';

/** How many rows of a long list a page shows. */
const FIRST = 100;

/** Reads the rows that FirstRows shows. */
export async function firstOf<Row>(
  list: (options: { readonly pageSize: number }) => AsyncIterable<Row>,
): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const row of list({ pageSize: FIRST })) if (rows.push(row) === FIRST) break;
  return rows;
}

/** A table with a list's first rows. `what`: the list's name. */
export function FirstRows<Row>({
  what,
  ...table
}: Omit<TableProps<Row>, 'caption'> & { readonly what: string }): preact.JSX.Element | null {
  if (table.rows.length === 0) return null;
  return (
    <>
      <div class="scroll tall" tabIndex={0} role="region" aria-label={`Table of the ${what}`}>
        <DataTable caption={`The ${what}`} {...table} />
      </div>
      {table.rows.length === FIRST && <p class="hint">Showing the first {FIRST}.</p>}
    </>
  );
}
