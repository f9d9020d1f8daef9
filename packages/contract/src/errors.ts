import * as z from 'zod';
import { named } from './bodies.ts';
import { apiIntent } from './fields.ts';

/** The response of v2 to a request that failed or was rejected [7]. */
export const errorResponse = named(
  'Error',
  'An error of v2 [7].',
  z.strictObject({
    message: z.string().describe('The error; for bad input with the name of the field.'),
    accepted_intents: z
      .array(apiIntent)
      .describe('The intents that open the endpoint. One of them is enough.'),
  }),
  {
    message: 'maxIPs must be 0 to 1000; use -1 for unlimited',
    accepted_intents: ['LICENSES_READ_WRITE', 'ALL_READ_WRITE'],
  },
);
export type ErrorResponse = z.infer<typeof errorResponse>;
