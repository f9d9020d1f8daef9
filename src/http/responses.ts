import * as z from 'zod';
import { apiIntent } from '../lib/fields.ts';

/** The response of v2 to a request that failed or was rejected [7]. */
export const errorResponse = z.strictObject({
  message: z.string(),
  accepted_intents: z.array(apiIntent),
});
export type ErrorResponse = z.infer<typeof errorResponse>;
