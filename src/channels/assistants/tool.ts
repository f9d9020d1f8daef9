import { type Licet, LicetError } from '@licet/client';
import type { ApiIntent } from '@licet/contract/enums';
import { INTENT_NAMES } from '@licet/contract/intents';
import * as z from 'zod';
import type { Sender } from '../../db/change.ts';
import { blameOf, describeError, parseFields } from '../../lib/issues.ts';

/** The parts of a tool, and the caller for whom it runs (12). */

/** The sender of a call of a tool. */
export interface Caller {
  tokenId: number | null;
  intents: readonly ApiIntent[];
  /** Sends requests to v2 as the token of the call: they have its permissions, limits and errors. */
  licet: Licet;
  /** The address of the service for others. */
  origin: string;
  /** The key of confirmations; undefined without an accepted ROOT_TOKEN. */
  rootToken: string | undefined;
  /** Makes the change that marks a confirmation as used. */
  newSender: () => Sender;
  /** Counts an error of the service itself, and logs it. */
  noteFailure: (error: unknown) => void;
  /** Reads a file that the service serves. */
  readFile: (path: string) => Promise<string>;
}

export type Fields = Record<string, unknown>;

/** A change that is ready to be made, and waits for its confirmation. */
export interface Prepared {
  /** The change in words. It has no text that a stranger wrote. */
  question: string;
  /** The change in fields. */
  change: Fields;
  make: () => Promise<Fields>;
}

interface Description {
  name: string;
  title: string;
  description: string;
  /** The sets of intents of which a token needs one each. */
  needs: readonly (readonly ApiIntent[])[];
}

/** A tool that reads. */
export interface ReadTool extends Description {
  input: z.ZodObject;
  isWrite: false;
  /** @throws LicetError for a wrong input */
  bind: (given: unknown) => (caller: Caller) => Promise<Fields>;
}

/** A call of a {@link WriteTool}. */
interface BoundWrite {
  /** The checked input without the code. */
  input: unknown;
  confirmation: string | undefined;
  /** Reads the object, and checks that it is unchanged since the caller read it. */
  prepare: (caller: Caller) => Promise<Prepared>;
}

interface WriteDescription extends Description {
  /** Whether it takes something away. */
  isDestructive: boolean;
  /** Whether a second call with the same input does what one does. */
  isIdempotent: boolean;
}

/** A tool that changes one object, after a confirmation. */
export interface WriteTool extends WriteDescription {
  input: z.ZodObject;
  isWrite: true;
  /** @throws LicetError for a wrong input */
  bind: (given: unknown) => BoundWrite;
}

export type Tool = ReadTool | WriteTool;

/** Checks the input of a call like a body of v2. @throws LicetError with the names of its fields */
function check<Schema extends z.ZodType>(schema: Schema, given: unknown): z.output<Schema> {
  const { data, error } = parseFields(schema, given);
  if (error) throw new LicetError(400, describeError(error), blameOf(error));
  return data;
}

export const readTool = <Shape extends z.ZodRawShape>(
  input: z.ZodObject<Shape>,
  tool: Description,
  run: (input: z.output<z.ZodObject<Shape>>, caller: Caller) => Promise<Fields>,
): ReadTool => ({
  ...tool,
  input,
  isWrite: false,
  bind: (given) => {
    const checked = check(input, given);
    return (caller) => run(checked, caller);
  },
});

const confirmed = z.looseObject({
  confirmation: z
    .string()
    .max(100)
    .optional()
    .describe(
      'The code that the call before returned, once the person has said yes. Leave it out of the first call.',
    ),
});

export const writeTool = <Shape extends z.ZodRawShape>(
  input: z.ZodObject<Shape>,
  tool: WriteDescription,
  prepare: (input: z.output<z.ZodObject<Shape>>, caller: Caller) => Promise<Prepared>,
): WriteTool => ({
  ...tool,
  input: input.extend(confirmed.shape),
  isWrite: true,
  bind: (given) => {
    const { confirmation, ...rest } = check(confirmed, given);
    const checked = check(input, rest);
    return { input: checked, confirmation, prepare: (caller) => prepare(checked, caller) };
  },
});

/** Whether the token of a caller has one intent of a set. */
export const may = ({ intents }: Pick<Caller, 'intents'>, accepted: readonly ApiIntent[]) =>
  intents.some((intent) => accepted.includes(intent));

/** The set of intents that a caller lacks for a tool; undefined if it may call it. */
export const lacking = (tool: Tool, caller: Caller): readonly ApiIntent[] | undefined =>
  tool.needs.find((accepted) => !may(caller, accepted));

/** The error of v2 for a token without an intent, in the words of the console. */
export function notAllowed(accepted: readonly ApiIntent[]): LicetError {
  const [least] = accepted;
  const remedy =
    least && `Tick the permission “${INTENT_NAMES[least]}” of the token in the console.`;
  return new LicetError(403, ['Token lacks a required intent.', remedy].filter(Boolean).join(' '), {
    acceptedIntents: accepted,
    code: 'FORBIDDEN',
  });
}

/** An error of the input, like those of v2. */
export const invalid = (field: string, message: string): LicetError =>
  new LicetError(400, `${field} ${message}`, { code: 'INVALID_VALUE', field });
