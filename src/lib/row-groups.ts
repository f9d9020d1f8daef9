/** A row of a list. */
export interface ListRow {
  id: number;
  /** The size of the values of the row that are too long to be read with many others. */
  unreadBytes?: number;
}

/** The rows in groups whose unread values may be in memory together: `longBytes`, apart from those of the last row. */
export function groupsOf<Row extends ListRow>(rows: readonly Row[], longBytes: number): Row[][] {
  const groups: Row[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const row of rows) {
    if (bytes >= longBytes) {
      groups.push([]);
      bytes = 0;
    }
    groups.at(-1)?.push(row);
    bytes += row.unreadBytes ?? 0;
  }
  return groups;
}
