import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { terminalLog } from '../../scripts/local/log.ts';

const request = (message: string, outcome: string, durationMs = 3): string =>
  JSON.stringify({ message, event: 'request', requestId: 'a', outcome, durationMs, colo: null });

/** The lines on a terminal after some messages, with their times cut off. */
function linesAfter(log: (log: ReturnType<typeof terminalLog>) => void): string[] {
  const lines: string[] = [];
  const write = (text: string) => {
    if (text.startsWith('\x1b[1A')) lines.pop();
    const line = stripVTControlCharacters(text);
    lines.push(line.replace(/^ {2}\d\d:\d\d:\d\d {2}|\n$/g, ''));
  };
  log(terminalLog(write, () => 80));
  return lines;
}

it('a terminal gets a short line for each request, and no JSON', () => {
  const lines = linesAfter((log) => {
    log('log', request('POST /api/v1/validate 200', 'VALID'));
    log('log', request('POST /api/v1/validate 400', 'LICENSE_EXPIRED', 12));
    log('log', request('GET /api/v2/products 200', 'OK'));
    log('error', JSON.stringify({ message: 'A request failed', error: 'D1Error' }));
    log('log', '{"message":"cut o');
    log('warn', 'The limit of open files (ulimit -n: 1024) allows 300 connections');
  });
  expect(lines).toEqual([
    'POST /api/v1/validate 200 VALID  3 ms',
    'POST /api/v1/validate 400 LICENSE_EXPIRED  12 ms',
    'GET /api/v2/products 200  3 ms',
    'A request failed  error D1Error',
    '{"message":"cut o',
    'The limit of open files (ulimit -n: 1024) allows 300 connections',
  ]);
});

it('equal requests in succession share a line, so that the link to log in stays in sight', () => {
  const lines = linesAfter((log) => {
    for (let index = 0; index < 40; index++)
      log('log', request('POST /api/v1/validate 200', 'VALID'));
    log('log', request('POST /api/v1/validate 400', 'MAX_IPS_REACHED'));
    // Each fault counts for itself.
    log('error', 'The scheduled tasks failed');
    log('error', 'The scheduled tasks failed');
  });
  expect(lines).toEqual([
    'POST /api/v1/validate 200 VALID  3 ms  × 40',
    'POST /api/v1/validate 400 MAX_IPS_REACHED  3 ms',
    'The scheduled tasks failed',
    'The scheduled tasks failed',
  ]);
});
