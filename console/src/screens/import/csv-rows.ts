import { CliError } from '@licet/cli/cli-error';
import { STRAY_QUOTE, UNCLOSED_QUOTE } from '@licet/cli/import/rows';

/** A row of a CSV file, and the line of its end. */
interface Row {
  cells: string[];
  line: number;
}

/**
 * Reads CSV (RFC 4180) with any line ends. Leaves out empty lines. The parser of the command line is too large: a
 * tenth of the whole page.
 *
 * @throws CliError for a quotation mark in the wrong place
 */
export async function* rowsIn(
  chunks: AsyncIterable<string>,
  separator: string,
): AsyncGenerator<Row> {
  let cells: string[] = [];
  let cell = '';
  let line = 1;
  let openedOn = 0;
  let state: 'start' | 'plain' | 'quoted' | 'closed' = 'start';
  let wasReturn = false;
  const endCell = (): void => {
    cells.push(cell);
    cell = '';
    state = 'start';
  };
  for await (const chunk of chunks) {
    for (const unit of chunk) {
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
        const isEmpty = cells.length === 0 && state === 'start';
        if (!isEmpty) {
          endCell();
          yield { cells, line };
          cells = [];
        }
        line++;
      } else if (unit === '"' || state === 'closed') {
        throw new CliError(`line ${line} ${STRAY_QUOTE}`);
      } else {
        state = 'plain';
        cell += unit;
      }
    }
  }
  if (state === 'quoted') throw new CliError(`line ${openedOn} ${UNCLOSED_QUOTE}`);
  if (cells.length > 0 || state !== 'start') {
    endCell();
    yield { cells, line };
  }
}
