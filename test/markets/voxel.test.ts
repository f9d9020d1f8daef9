import { expect, it } from 'vitest';
import { voxel } from '../../src/channels/markets/adapters/voxel.ts';
import { accepted, hmac, incoming, NOW, readBy, settingsOf } from './samples.ts';

/** Voxel Shop: its placeholder and its webhooks, from the samples of its wiki. */

async function read(body: object) {
  const text = JSON.stringify(body);
  const headers = { 'X-Polymart-Signature': await hmac(text) };
  return readBy(voxel, incoming(text, headers), settingsOf('voxel'));
}

const time = NOW / 1000;
const download = {
  user: 90579,
  product: 1,
  nonce: 'n',
  license: 'L',
  placeholder: 'licet',
  time,
};
const payload = {
  product: { id: '1', title: 'T', subtitle: 'S', url: 'https://voxel.shop/resource/1' },
  user: { id: 90579 },
};
const grant = {
  do: 'grant',
  item: '1',
  reference: '90579',
  order: null,
  buyer: { id: '90579', name: null, email: null },
  quantity: 1,
  isTest: false,
  facts: {},
  about: [],
};

it('a download grants, and its response is the key as JSON [9.2.1]', async () => {
  const { notices, needsKey, respond } = accepted(await read(download));
  expect({ notices, needsKey }).toEqual({ notices: [grant], needsKey: true });
  expect(respond?.(['A"B'])).toEqual({
    body: String.raw`{"value":"A\"B"}`,
    contentType: 'application/json',
  });
});

it('a download of a test is a test', async () => {
  const { notices } = accepted(await read({ ...download, test: true }));
  expect(notices).toEqual([{ ...grant, isTest: true }]);
});

it('a purchase grants with its time, and is the same as the download', async () => {
  const body = { event: 'product.user.purchase', time, nonce: 'akjmLCXcNyWxmXqd', payload };
  expect(accepted(await read(body)).notices).toEqual([
    { ...grant, renews: true, facts: { boughtAt: NOW } },
  ]);
});

it.each(['product.user.purchaseRemoved', 'product.user.refund'])('%s removes it', async (event) => {
  const purchase = { item: '1', reference: '90579', order: null, facts: { removed: NOW } };
  expect(accepted(await read({ event, time, nonce: 'n', payload })).notices).toEqual([
    { do: 'report', about: [], purchase },
  ]);
});

it.each(['ping', 'testEvent', 'product.update', 'product.user.firstDownload', 'new.event'])(
  '%s changes nothing [9.2.8]',
  async (event) => {
    const { notices, ignored } = accepted(
      await read({ event, time, nonce: 'n', payload: { webhook: 'text' } }),
    );
    expect({ notices, ignored }).toEqual({
      notices: [],
      ignored: 'This event changes no purchase',
    });
  },
);

it.each([time - 301, time + 301, undefined, 'now'])('a time of %s is rejected', async (sent) => {
  expect(await read({ ...download, time: sent })).toMatchObject({ status: 401 });
});
