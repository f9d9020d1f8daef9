/** A row of a list. */
export interface ListRow {
  /** The size of the values of the row that are too long to be read with many others. */
  unreadBytes?: number;
}

const unreadBytesOf = ({ unreadBytes = 0 }: ListRow): number => unreadBytes;

/** The rows in groups whose unread values may be in memory together: `longBytes`, apart from those of the last row. */
function groupsOf<Row extends object>(rows: readonly Row[], longBytes: number): Row[][] {
  const groups: Row[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const row of rows) {
    if (bytes >= longBytes) {
      groups.push([]);
      bytes = 0;
    }
    groups.at(-1)?.push(row);
    bytes += unreadBytesOf(row);
  }
  return groups;
}

/** Whether a value of one of the rows is not read yet. */
export const isUnread = (rows: readonly ListRow[]): boolean =>
  rows.some((row) => unreadBytesOf(row) > 0);

/**
 * The rows with all their values, in groups that fit into memory.
 *
 * @param readLong reads rows again of which some have unread values; undefined for rows without any
 */
export async function* wholeGroups<Row extends object>(
  rows: readonly Row[],
  longBytes: number,
  readLong: ((rows: readonly Row[]) => Promise<Row[]>) | undefined,
): AsyncGenerator<Row[]> {
  for (const group of groupsOf(rows, longBytes)) {
    yield readLong && isUnread(group) ? await readLong(group) : group;
  }
}

/**
 * Reads again those rows that have unread values. One that was removed meanwhile is left out.
 *
 * @param read reads whole rows by their ids
 */
export async function readUnread<Whole extends { id: number }, Row extends Whole & ListRow>(
  rows: readonly Row[],
  read: (ids: readonly number[]) => Promise<Whole[]>,
): Promise<Whole[]> {
  if (!isUnread(rows)) return [...rows];
  const ids = rows.flatMap(({ id, unreadBytes }) => (unreadBytes ? id : []));
  const whole = new Map((await read(ids)).map((row) => [row.id, row]));
  return rows.flatMap((row) => (row.unreadBytes ? (whole.get(row.id) ?? []) : row));
}
