import { rewrittenReason } from '@licet/contract/import-ids';
import { isObject, parseJson } from '@licet/contract/json';
import { purchase as purchaseSchema } from '@licet/contract/purchases';
import { argumentError } from '../command-line.ts';
import { columnsOf, Names, toItem, type Wanted } from '../import/columns.ts';
import { readText } from '../import/json-lines.ts';
import { readRows } from '../import/rows.ts';
import { checkedField, problemOfColumns } from '../import/survey.ts';
import { statusIn } from '../import/words.ts';

/** Purchases in a file: lines of JSON, a list, or a table, as `npm run import` reads its own files. */

/** The fields of a purchase that a file needs. */
const fileLine = purchaseSchema
  .pick({ marketId: true, item: true, reference: true })
  .extend(
    purchaseSchema
      .pick({ order: true, buyerId: true, buyerName: true, licenseId: true, unit: true })
      .partial().shape,
  )
  .loose();

interface Entry {
  raw: unknown;
  where: string;
  headings?: readonly string[];
}

async function* wholeOf(content: string): AsyncGenerator<string> {
  yield content;
}

/** The entries of a file, in the format that its first character shows. */
async function* entriesIn(content: string): AsyncGenerator<Entry> {
  const start = content.trimStart()[0];
  const list = start === '[' ? parseJson(content) : undefined;
  if (start === '[' && !Array.isArray(list)) {
    throw argumentError('The file is not valid JSON. Make sure that it is complete.');
  }
  if (Array.isArray(list)) {
    for (const [index, raw] of list.entries()) yield { raw, where: `Item ${index + 1}` };
  } else if (start === '{') {
    for (const [index, line] of content.split('\n').entries()) {
      if (line.trim() !== '') yield { raw: parseJson(line), where: `Line ${index + 1}` };
    }
  } else {
    for await (const { item, where, headings = [], problem } of readRows(
      content,
      wholeOf(content),
    )) {
      const place = `Line ${where.replace('line ', '')}`;
      if (problem !== undefined) throw argumentError(`${place}: ${problem}.`);
      yield { raw: item, where: place, headings };
    }
  }
}

const INTEGERS = ['marketId', 'licenseId', 'unit'];
const IDS = ['item', 'reference', 'order', 'buyerId', 'licenseKey'];

/** Numbers for text of a table, and text for the numbers that other programs write. */
function readFields(item: object): Record<string, unknown> {
  const fields = Object.entries(item).map(([name, value]) => {
    const isText = typeof value === 'string';
    if (INTEGERS.includes(name) && isText && /^\d+$/.test(value)) return [name, Number(value)];
    if (IDS.includes(name) && Number.isSafeInteger(value)) return [name, String(value)];
    return [name, isText && value.trim() === '' ? null : value];
  });
  return Object.fromEntries(fields);
}

export interface FilePurchase {
  where: string;
  marketId: number;
  item: string;
  reference: string;
  order?: string | null | undefined;
  buyerId?: string | null | undefined;
  buyerName?: string | null | undefined;
  licenseId?: number | null | undefined;
  unit?: number | undefined;
  licenseKey?: string | null;
  /** The state of one that is paid no more: refunded, failed. */
  over?: string;
  /** The reason why it cannot be entered. */
  problem?: string;
}

function readPurchase(raw: unknown, where: string): FilePurchase {
  if (!isObject(raw)) {
    throw argumentError(
      `${where} is no JSON object. Write each purchase as licet purchases list --json prints it.`,
    );
  }
  const fields = readFields(raw);
  const { data, error } = fileLine.safeParse(fields);
  if (!data) {
    const [issue] = error.issues;
    const name = issue?.path.join('.') ?? '';
    const isMissing = fields[name] === undefined || fields[name] === null;
    if (!isMissing) throw argumentError(`${where}: ${name}: ${issue?.message}.`);
    const [required, options] =
      name === 'reference'
        ? ['is required, and each purchase has its own', '']
        : ['is required', `--set ${name}=VALUE for all, or `];
    throw argumentError(`${where}: ${name} ${required}. Add ${options}--map HEADING=${name}.`);
  }
  const { licenseKey, state } = fields;
  const isOver = statusIn('state', state) === 'DEACTIVATED';
  const [problem] = IDS.flatMap((name) => {
    const reason = rewrittenReason(String(fields[name] ?? ''));
    const value = name === 'licenseKey' ? '' : ` "${fields[name]}"`;
    return reason === undefined ? [] : [`${name}${value} ${reason}`];
  });
  return {
    ...data,
    where,
    ...(typeof licenseKey === 'string' && { licenseKey }),
    ...(isOver && { over: String(state) }),
    ...(problem !== undefined && { problem }),
  };
}

/** The purchases in a file. @throws CliError for one that is none, before anything is entered */
export async function purchasesIn(
  chunks: AsyncIterable<Uint8Array>,
  wanted: Wanted,
): Promise<FilePurchase[]> {
  let content = '';
  for await (const text of readText(chunks, false)) content += text;
  const entries: Entry[] = [];
  const names = new Names();
  for await (const entry of entriesIn(content)) {
    entries.push(entry);
    names.add(entry.raw);
  }
  const [table] = entries.flatMap(({ headings }) => (headings ? [headings] : []));
  const checked = {
    map: new Map(
      [...wanted.map].map(([name, field]) => [
        name,
        field && checkedField(['purchases'], field, '--map'),
      ]),
    ),
    set: new Map(
      [...wanted.set].map(([field, value]) => [checkedField(['purchases'], field, '--set'), value]),
    ),
  };
  const columns = columnsOf('purchases', table ?? names.all, checked);
  const open = columns.open.filter(
    ({ name, decides }) => table || (decides && names.holdsSomething(name)),
  );
  const problem = problemOfColumns('purchases', { ...columns, open }, table !== undefined);
  if (problem !== undefined) throw argumentError(`The file has ${problem}.`);
  return entries.map(({ raw, where }) => readPurchase(toItem(raw, columns), where));
}
