import { CliError } from '../cli-error.ts';
import { MAX_PIECE_BYTES } from './json-lines.ts';

/** A row of a CSV file, and the line of its end. */
interface Row {
  cells: string[];
  line: number;
}

const STRAY_QUOTE =
  'has a quotation mark within a cell. Put the whole cell between quotation marks, and double those within it';

/**
 * Reads CSV (RFC 4180) with any line ends, also different ones. The console uses this too: the parsers of others are a
 * tenth of its whole page.
 *
 * @throws CliError for a quotation mark in the wrong place, and for a row that is too large
 */
export async function* rowsIn(
  chunks: AsyncIterable<string>,
  separator: string,
): AsyncGenerator<Row> {
  let cells: string[] = [];
  let cell = '';
  let line = 1;
  let firstLine = 1;
  let openedOn = 0;
  let length = 0;
  let state: 'start' | 'plain' | 'quoted' | 'closed' = 'start';
  let wasReturn = false;
  const endCell = (): void => {
    cells.push(cell);
    cell = '';
    state = 'start';
  };
  for await (const chunk of chunks) {
    for (const unit of chunk) {
      if (++length > MAX_PIECE_BYTES) throw new CliError(`line ${firstLine} is larger than 1 MiB`);
      const isSecondOfTwo = wasReturn && unit === '\n';
      wasReturn = unit === '\r';
      if (state === 'quoted') {
        if (unit === '"') state = 'closed';
        else cell += unit;
        if (unit === '\r' || (unit === '\n' && !isSecondOfTwo)) line++;
      } else if (isSecondOfTwo) {
        // The row has ended with the carriage return before it.
      } else if (unit === '"' && state === 'start') {
        state = 'quoted';
        openedOn = line;
      } else if (unit === '"' && state === 'closed') {
        state = 'quoted';
        cell += unit;
      } else if (unit === separator) {
        endCell();
      } else if (unit === '\n' || unit === '\r') {
        endCell();
        yield { cells, line };
        cells = [];
        firstLine = ++line;
        length = 0;
      } else if (unit === '"' || state === 'closed') {
        throw new CliError(`line ${line} ${STRAY_QUOTE}`);
      } else {
        state = 'plain';
        cell += unit;
      }
    }
  }
  if (state === 'quoted')
    throw new CliError(`line ${openedOn} opens a quotation mark that is never closed`);
  if (cells.length > 0 || state !== 'start') {
    endCell();
    yield { cells, line };
  }
}
