import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { vi } from 'vitest';
import { app } from '../../src/app';
import type { Bindings } from '../../src/edge/edge';
import { type Answer, type CallOptions, readAnswer, requestTo } from './client';

/** Like `call`, by the app with other bindings than the Worker's, and to the end of all it does. */
export async function callWith(
  bindings: Partial<Bindings>,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Answer> {
  const context = createExecutionContext();
  const request = requestTo(method, path, options);
  const answer = await readAnswer(await app.fetch(request, { ...env, ...bindings }, context));
  await waitOnExecutionContext(context);
  return answer;
}

/**
 * One validation by the app with other bindings than the Worker's. `recorded` resolves when all
 * that was left running after the answer is done.
 */
export async function validateWith(
  bindings: Partial<Bindings>,
  body: unknown,
  { version = 'v1', headers = {} }: { version?: 'v1' | 'v2'; headers?: HeadersInit } = {},
): Promise<{ status: number; json: unknown; recorded: Promise<unknown> }> {
  const context = createExecutionContext();
  const waitUntil = vi.spyOn(context, 'waitUntil');
  const request = new Request(`http://licet.test/api/${version}/validate`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  const response = await app.fetch(request, { ...env, ...bindings }, context);
  const json: unknown = await response.json();
  const recorded = Promise.all(waitUntil.mock.calls.map(([promise]) => promise));
  return { status: response.status, json, recorded };
}
