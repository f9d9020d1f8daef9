import * as z from 'zod';
import { list, NAME, NUMBER, readSettings, TEXT, table, VARIABLES } from '../settings.ts';

const texts = z.array(TEXT, 'a list of texts').optional();

const HTML_HANDLINGS = [
  'auto-trailing-slash',
  'force-trailing-slash',
  'drop-trailing-slash',
  'none',
] as const;
const NOT_FOUND_HANDLINGS = ['single-page-application', '404-page', 'none'] as const;

const databases = table({
  d1_databases: list({
    binding: NAME,
    database_id: TEXT.optional(),
    preview_database_id: TEXT.optional(),
  }),
});

const settings = table({
  main: NAME,
  compatibility_date: NAME,
  compatibility_flags: texts,
  define: z.record(z.string(), TEXT, 'a table').optional(),
  vars: VARIABLES,
  secrets: table({ required: texts }).optional(),
  triggers: table({ crons: texts }).optional(),
  assets: table({
    directory: NAME,
    html_handling: z.enum(HTML_HANDLINGS, `one of ${HTML_HANDLINGS.join(', ')}`).optional(),
    not_found_handling: z
      .enum(NOT_FOUND_HANDLINGS, `one of ${NOT_FOUND_HANDLINGS.join(', ')}`)
      .optional(),
  }),
  ratelimits: list({ name: NAME, simple: table({ limit: NUMBER }) }),
  ...databases.shape,
});

/**
 * The part of wrangler.toml that a service on this machine needs.
 *
 * @throws CliError if it cannot be read or is wrong
 */
export const readLocalSettings = (): z.infer<typeof settings> => readSettings(settings);

/**
 * The databases in wrangler.toml, whatever else is in it.
 *
 * @throws CliError if it cannot be read or they are wrong
 */
export const readDatabases = (): z.infer<typeof databases> => readSettings(databases);
