import * as z from 'zod';
import { CREATED, named, UPDATED } from './bodies.ts';
import { API_INTENTS } from './enums.ts';
import { apiIntent, nameText } from './fields.ts';
import { pageQuery } from './parameters.ts';
import {
  createBody,
  mustNotBeSent,
  objectId,
  optional,
  required,
  setByService,
  systemTime,
  updateBody,
  wireBody,
  wireMapper,
} from './resource.ts';
import { timestamp, wireTimestamp } from './time.ts';

const intents = z
  .array(apiIntent)
  .min(1)
  // Stored in the order of the interface, each once.
  .transform((sent) => API_INTENTS.filter((intent) => sent.includes(intent)));

export const tokenFields = {
  id: objectId(),
  name: required(nameText, z.string(), 'The name of the user or program.'),
  intents: required(intents, z.array(apiIntent), 'The permissions.'),
  expiresAt: optional(
    timestamp.nullable().default(null),
    timestamp.nullable(),
    wireTimestamp.nullable(),
    'From this millisecond on it is rejected; null if it does not expire.',
  ),
  lastUsedAt: setByService(wireTimestamp.nullable(), 'To within five minutes.'),
  client: setByService(
    z.string().nullable(),
    'The host of the assistant that got it by consent (12.7); null for a token with a secret.',
  ),
  createdAt: systemTime,
  updatedAt: systemTime,
};

/** A token in the response to its creation, the only one that shows the secret. */
export const createdTokenFields = {
  ...tokenFields,
  token: {
    create: mustNotBeSent,
    update: mustNotBeSent,
    wire: z.string(),
    description: 'The secret, shown this once.',
  },
};

/** Picks the fields of a response, without the secret. */
export const pickToken = wireMapper(tokenFields);

const example = {
  id: 3,
  name: 'Shop',
  intents: ['LICENSES_READ_WRITE' as const],
  expiresAt: null,
  lastUsedAt: UPDATED,
  client: null,
  createdAt: CREATED,
  updatedAt: CREATED,
};

export const token = named(
  'Token',
  'An API token, without its secret [5].',
  wireBody(tokenFields),
  example,
);
export const tokenCreate = named(
  'TokenCreate',
  'A new API token [5].',
  createBody(createdTokenFields),
  { name: 'Shop', intents: ['LICENSES_READ_WRITE'], expiresAt: null },
);
export const tokenUpdate = named(
  'TokenUpdate',
  'Changes of a token: an omitted field keeps its value [4.8].',
  updateBody(createdTokenFields),
  { intents: ['LICENSES_READ'] },
);
export const createdToken = named(
  'CreatedToken',
  'An API token, with its secret [5].',
  wireBody(createdTokenFields),
  { ...example, lastUsedAt: null, token: 'licet_3q2-7wAAC1f4dKZkq0s8yX9pLmNvBcRtYuIoPaSdFgH' },
);

/** The token or session of a request, as the request itself may see it. */
export const ownToken = named(
  'OwnToken',
  'The token of the request [5].',
  z.strictObject({
    id: z.int().nullable().describe('Null for ROOT_TOKEN.'),
    name: z.string().describe('The name of the user or program; `root` for ROOT_TOKEN.'),
    intents: z.array(apiIntent).describe('The permissions.'),
    expiresAt: wireTimestamp
      .nullable()
      .describe('From this millisecond on it is rejected; null if it does not expire.'),
  }),
  { id: 3, name: 'Shop', intents: ['LICENSES_READ_WRITE'], expiresAt: null },
);

export type OwnToken = z.infer<typeof ownToken>;

/** The query of a list of tokens. */
export const tokenQuery = z.strictObject(pageQuery);
