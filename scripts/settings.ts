import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CliError, systemReason } from '@licet/cli/terminal';
import { parse, TomlError } from 'smol-toml';
import * as z from 'zod';

/** Reads wrangler.toml. Each command reads the part that it needs. To load wrangler for that would take a second. */

export const SETTINGS_FILE = 'wrangler.toml';

export const TEXT = z.string('a text');
export const NAME = TEXT.min(1, 'a text that is not empty');
export const NUMBER = z.number('a number');

/** A section of the settings. */
export const table = <Entry extends z.ZodRawShape>(entry: Entry) => z.looseObject(entry, 'a table');

/** The variables of the service. */
export const VARIABLES = z
  .record(
    z.string(),
    z.union(
      [TEXT, NUMBER, z.boolean(), z.array(z.json()), z.record(z.string(), z.json())],
      'a text, a number, true, false, a list or a table',
    ),
    'a table',
  )
  .optional();

/** A section that may occur several times. */
export const list = <Entry extends z.ZodRawShape>(entry: Entry) =>
  z.array(table(entry), 'a list: [[…]]').optional();

/**
 * Reads the settings.
 *
 * @param schema the part that is needed; each of its messages completes "<setting> must be …"
 * @throws CliError if they cannot be read, or do not match the schema
 */
export function readSettings<Schema extends z.ZodType>(
  schema: Schema,
  folder = '.',
): z.infer<Schema> {
  let settings: unknown;
  try {
    settings = parse(readFileSync(join(folder, SETTINGS_FILE), 'utf8'));
  } catch (error) {
    const isToml = error instanceof TomlError;
    // Its further lines quote the file.
    const reason = isToml
      ? `line ${error.line}: ${error.message.split('\n')[0]}`
      : systemReason(error);
    throw new CliError(`${SETTINGS_FILE} cannot be read: ${reason}`);
  }
  const { data, error, success } = schema.safeParse(settings);
  if (success) return data;
  const wrong = error.issues.map(({ path, message }) => `${path.join('.')} must be ${message}`);
  throw new CliError(`${SETTINGS_FILE}: ${wrong.join(', ')}.`);
}
