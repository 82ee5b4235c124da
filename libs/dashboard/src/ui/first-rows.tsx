import { DataTable, type TableProps } from './data-table.js';

/** The number of rows of a long list that a page shows. */
const FIRST = 100;

/** Reads the rows that FirstRows shows. */
export async function firstOf<Row>(
  list: (options: { readonly pageSize: number }) => AsyncIterable<Row>,
): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const row of list({ pageSize: FIRST })) if (rows.push(row) === FIRST) break;
  return rows;
}

/** A table of the first rows of a list. `what`: the name of the list. */
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
