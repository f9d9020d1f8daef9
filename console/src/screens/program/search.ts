import * as z from 'zod/mini';
import { oneOf } from '../../search.ts';
import { FILES } from './files.ts';

/** The chosen example in an address. The form of a new license has it too, and leads back to the example. */
export const exampleSearch = {
  file: oneOf(FILES),
  signed: z.catch(z.optional(z.literal(true)), undefined),
};
