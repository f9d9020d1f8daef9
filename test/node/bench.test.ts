import type { RequestListener } from 'node:http';
import { describe, expect, it } from 'vitest';
import { faultsOf } from '../../bench/faults.ts';
import { type Load, send } from '../../bench/load.ts';
import { ServiceLog } from '../../bench/log.ts';
import type { Finding } from '../../bench/report.ts';
import { boundRequests, licenseKeyIn, validResponse } from '../../bench/requests.ts';
import { verdictOf } from '../../bench/verdict.ts';
import { Witness } from '../../bench/witness.ts';
import { listen } from './own.ts';
import { freePort } from './service.ts';

const [one, other] = [boundRequests([1])(0), boundRequests([2])(0)];
const expected = validResponse(2);

const findingOf = (scenario: string, faults: Finding['faults'] = []): Finding => ({
  ...{ scenario, title: scenario, results: [], thresholds: [], notes: [] },
  faults,
});

/** Sends a load to a server that responds to validations with a listener, and to greetings with 404. */
async function sendTo(listener: RequestListener, load: Pick<Load, 'connections' | 'until'>) {
  const url = await listen((request, response) => {
    if (request.method === 'POST') request.resume().on('end', () => listener(request, response));
    else response.writeHead(404, { 'Content-Length': '0' }).end();
  });
  const requests = { url: new URL(url), requestAt: () => one, from: 0, expected };
  return send({ ...load, ...requests, backsOff: true });
}

describe('the benchmark', () => {
  it('the benchmark finds a lost record although another one was stored twice', async () => {
    const rows = [{ key: licenseKeyIn(one), n: 4 }];
    const witness = new Witness(async () => rows);
    const recorded = new Map([
      [one, 3],
      [other, 1],
    ]);
    const { due, stored, lost, doubled } = await witness.watch([{ recorded, uncertain: [] }], true);
    expect({ due, stored, lost, doubled }).toEqual({ due: 4, stored: 4, lost: 1, doubled: 1 });
  });

  it('the benchmark takes a record of a request without a response as neither lost nor doubled', async () => {
    const rows = [{ key: licenseKeyIn(one), n: 2 }];
    const witness = new Witness(async () => rows);
    const sent = { recorded: new Map([[one, 1]]), uncertain: [one, other] };
    expect(await witness.watch([sent], true)).toMatchObject({ lost: 0, doubled: 0 });
  });

  it('the verdict of the benchmark names the failed scenarios and their faults in one line', () => {
    const load = {
      ...{ name: 'load', connections: 64, wrong: 0, wrongResponse: null, failure: null },
      ...{ withoutResponse: 0, failedConnects: 0, lost: 5_400, doubled: 0 },
    };
    const findings = [findingOf('hot'), findingOf('load', faultsOf('load', [load]))];
    expect(verdictOf(findings)).toEqual({
      verdict: '1 of 2 scenarios failed: 5,400 records were lost (load at 64 connections)',
      isGood: false,
    });
    expect(verdictOf([findingOf('hot')])).toEqual({
      verdict: 'No record was lost, and no response was wrong.',
      isGood: true,
    });
  });

  it('the benchmark takes requests that the log says were given up as a fault', () => {
    const log = new ServiceLog();
    const message = 'Requests were given up: 37';
    log.add(JSON.stringify({ time: '2026-01-01T00:00:00.000Z', level: 'error', message }));
    expect(log.faults('load')).toEqual([{ kind: 'given up', count: 37, where: 'load' }]);
  });

  it('the benchmark pauses after a 503 with Retry-After, and expects no record of it', async () => {
    let received = 0;
    const measured = await sendTo(
      (_, response) => {
        const isOverloaded = ++received === 1;
        if (isOverloaded)
          response.writeHead(503, { 'Retry-After': '0', 'Content-Length': '0' }).end();
        else response.setHeader('Content-Length', expected.body.length).end(expected.body);
      },
      { connections: 1, until: { count: 3 } },
    );
    const { requests, backedOff, wrong, recorded } = measured;
    expect({ requests, backedOff, wrong }).toEqual({ requests: 3, backedOff: 1, wrong: 0 });
    expect([...recorded.values()]).toEqual([2]);
  });

  it('the benchmark counts requests without a response apart from connections that fail', async () => {
    const reset = await sendTo((request) => request.socket.destroy(), {
      connections: 2,
      until: { count: 2 },
    });
    expect(reset).toMatchObject({ withoutResponse: 2, failedConnects: 0, requests: 2 });
    const url = new URL(`http://127.0.0.1:${await freePort()}`);
    const load = { url, connections: 2, requestAt: () => one, from: 0, until: { count: 2 } };
    expect(await send({ ...load, expected })).toMatchObject({
      withoutResponse: 0,
      requests: 0,
      failure: expect.stringContaining('ECONNREFUSED'),
    });
  });
});
