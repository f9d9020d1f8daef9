import * as z from 'zod';
import { text, withKeptNames } from './fields.ts';
import {
  MAX_METADATA_LENGTH,
  MAX_METADATA_NAMES,
  METADATA_NAME,
  METADATA_NAME_MESSAGE,
} from './limits.ts';
import { optional } from './resource.ts';

/** The texts of a seller about an object, by their names (3). */

export type Metadata = Readonly<Record<string, string>>;

const FILTER_MESSAGE = 'must be a name and a text, such as plan:gold';

/** In the order of their names, so that equal metadata is equal JSON. Null without any. */
function inOrder(sent: Metadata | null): Metadata | null {
  const filled = Object.entries(sent ?? {}).filter(([, value]) => value !== '');
  if (filled.length === 0) return null;
  return Object.fromEntries(filled.sort(([one], [other]) => (one < other ? -1 : 1)));
}

const texts = z
  .record(z.string().regex(METADATA_NAME, METADATA_NAME_MESSAGE), text(MAX_METADATA_LENGTH))
  .refine((sent) => Object.keys(sent).length <= MAX_METADATA_NAMES, {
    error: `must have at most ${MAX_METADATA_NAMES} names`,
  })
  .nullable()
  .transform(inOrder);

const sentMetadata = withKeptNames(texts, METADATA_NAME_MESSAGE);

/** The field of a resource. */
export const metadata = optional(
  sentMetadata.default(null),
  sentMetadata,
  z.record(z.string(), z.string()),
  `Texts of your own, by their names: at most ${MAX_METADATA_NAMES} of ${MAX_METADATA_LENGTH} characters. A PUT replaces all of them; a name with an empty text is left out, and null leaves none. For administrators and shops: no validation and no page of a customer shows them.`,
);

/** The query parameter that finds objects by a text in their metadata. */
export const metadataFilter = z
  .string()
  .transform((sent, context) => {
    const end = sent.indexOf(':');
    const [name, value] = [sent.slice(0, end), sent.slice(end + 1)];
    if (end > 0 && METADATA_NAME.test(name) && value !== '') return { name, value };
    context.addIssue({ code: 'custom', message: FILTER_MESSAGE });
    return z.NEVER;
  })
  .optional()
  .meta({
    description:
      'Only objects with exactly this text under this name in `metadata`: the name, a colon and the text.',
    type: 'string',
    example: 'plan:gold',
  });
export type MetadataFilter = z.infer<typeof metadataFilter>;
