import type { ComponentChildren } from 'preact';

/** A column of a table: its heading, and its cell for a row. */
export interface Column<Row> {
  /** Names the column in the address, and is its CSS class. */
  readonly id: string;
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  readonly numeric?: boolean;
  /** A row's sort value. Without it, the column can't be sorted. */
  readonly sorted?: (row: Row) => number | string;
}

export interface TableProps<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string | number;
  /** The sorted column's id, with "-" in front for descending order. */
  readonly sort?: string;
  readonly onSort?: (sort: string) => void;
}

/**
 * A table whose rows become cards on narrow screens. The cards' CSS removes table semantics, so the parts set ARIA
 * roles.
 */
export function DataTable<Row>(props: TableProps<Row>): preact.JSX.Element {
  const { caption, columns, rows, keyOf, sort = '', onSort } = props;
  return (
    <table class="table" role="table">
      <caption class="unseen">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((column) => (
            <Heading key={column.id} column={column} sort={sort} {...(onSort && { onSort })} />
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr key={keyOf(row)} role="row">
            {columns.map(({ id, title, cell, numeric = false }, i) => {
              const Cell = i === 0 ? 'th' : 'td';
              return (
                <Cell
                  key={id}
                  class={`${id}${numeric ? ' number' : ''}`}
                  role={i === 0 ? 'rowheader' : 'cell'}
                  scope={i === 0 ? 'row' : undefined}
                  data-title={title}
                >
                  {cell(row)}
                </Cell>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Heading<Row>({
  column: { id, title, numeric = false, sorted },
  sort,
  onSort,
}: {
  readonly column: Column<Row>;
  readonly sort: string;
  readonly onSort?: (sort: string) => void;
}): preact.JSX.Element {
  const order = sort === id ? 'ascending' : sort === `-${id}` ? 'descending' : undefined;
  // The first click sorts names in ascending order and numbers in descending order, because users look for the largest.
  const next = order === undefined ? (numeric ? `-${id}` : id) : order === 'ascending' ? `-${id}` : id;
  return (
    <th
      class={`${id}${numeric ? ' number' : ''}`}
      role="columnheader"
      scope="col"
      aria-sort={sorted && onSort ? (order ?? 'none') : undefined}
    >
      {sorted && onSort ? (
        <button type="button" class="sort" onClick={() => onSort(next)}>
          {title}
          <span aria-hidden="true" class="arrow">
            {order === 'ascending' ? '↑' : order === 'descending' ? '↓' : ''}
          </span>
        </button>
      ) : (
        title
      )}
    </th>
  );
}

/** Rows sorted by a column. Equal rows keep their order. */
export function sortedBy<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sort: string,
): readonly Row[] {
  const down = sort.startsWith('-');
  const key = columns.find(({ id }) => id === sort.replace('-', ''))?.sorted;
  if (!key) return rows;
  const keyed = rows.map((row) => ({ row, key: key(row) }));
  keyed.sort((a, b) => (down ? compare(b.key, a.key) : compare(a.key, b.key)));
  return keyed.map(({ row }) => row);
}

function compare(a: number | string, b: number | string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
