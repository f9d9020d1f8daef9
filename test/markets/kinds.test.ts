import { MARKET_KINDS } from '@licet/contract/enums';
import { marketFields } from '@licet/contract/markets';
import { expect, it } from 'vitest';
import decisions from '../../docs/decisions.md?raw';
import { ADAPTERS } from '../../src/channels/markets/adapters.ts';

/** The kinds of markets in the documents. */

const MAILING = MARKET_KINDS.filter((kind) => ADAPTERS[kind].mailsKey);

/** The names in code that a text has, among the kinds of markets. */
const kindsIn = (text = '') => MARKET_KINDS.filter((kind) => text.includes(`\`${kind}\``));

const decision = (tag: string) => decisions.split('\n').find((line) => line.includes(`[${tag}]`));

it('the decisions name each kind of market, and those whose buyers get the key by mail', () => {
  expect(kindsIn(decision('9.1.1'))).toEqual(MARKET_KINDS);
  expect(kindsIn(decision('13.2.4'))).toEqual(MAILING);
});

it('the field mailsKey names the markets whose buyers get the key by mail', () => {
  expect(kindsIn(marketFields.mailsKey.description)).toEqual(MAILING);
});
