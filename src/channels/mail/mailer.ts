import type { Sender } from '../../db/change.ts';
import type { Task } from '../../db/task.ts';
import { TimeoutError, wait, withTimeout } from '../../lib/async.ts';
import { logFailure } from '../../lib/log.ts';
import { retryAt } from '../../lib/retries.ts';
import { LETTER_QUERIES, type Letter, type LetterSettings, readLetters } from './letters.ts';
import type { MailRow } from './schema.ts';
import type { MailSender, SendOutcome } from './sender.ts';
import {
  claimMail,
  claimMails,
  type MailOutcome,
  mailsDueSince,
  OUTCOME_QUERIES,
  PERHAPS_SENT,
  REPEAT_SAFE_MS,
  releaseMails,
  storeMailOutcomes,
} from './store.ts';

/** Sending of mails (13). */

/** The queries of a round without what it sends: its claim, its letters, their outcomes, and what it gives back. */
const ROUND_QUERIES = 2 + LETTER_QUERIES + OUTCOME_QUERIES + 1;
/** Mails of a run of the scheduled handler, and after a response, where the platform counts requests. */
const AT_CLOUDFLARE = { inRun: 10, afterResponse: 5, isOnOneMachine: false };
const ON_ONE_MACHINE = { inRun: 500, afterResponse: 25, isOnOneMachine: true };
/** Rounds under way after responses of one machine, because mail servers limit the connections of a client. */
const MAX_ROUNDS = 4;
const MAX_IN_ROUND = 25;
/** A run begins no attempt after this time. */
const MAX_RUN_MS = 15_000;
/** The same after a response: at Cloudflare, the attempt and the storing of its outcome have 30 seconds together. */
const MAX_AFTER_RESPONSE_MS = 3_000;
/** An attempt that takes longer has perhaps sent its mail. */
const MAX_ATTEMPT_MS = 30_000;
/** Senders limit the mails of a second. */
const AT_ONCE = 2;
/** The wait for attempts under way at the stop. A slower one has perhaps sent its mail. */
const MAX_DRAIN_MS = 5_000;
const DRAIN_POLL_MS = 20;

/** How an attempt ends without an outcome. */
const CUT_OFF: SendOutcome = { state: 'lost', error: PERHAPS_SENT };

/** The parts of an outcome that most have. */
const outcome = (
  { mail, addressHash, isBlocked }: Letter,
  values: Pick<MailOutcome, 'state' | 'error'> & Partial<MailOutcome>,
): MailOutcome => ({
  mail,
  step: mail.step,
  nextAt: null,
  providerId: null,
  isHandedOver: false,
  blocked: null,
  unblocked: isBlocked && values.state === 'SENT' ? addressHash : null,
  ...values,
});

/** The outcome of an attempt. @param now milliseconds since 1970 */
function outcomeOf(
  letter: Letter,
  result: SendOutcome,
  { isRepeatSafe }: MailSender,
  now: number,
): MailOutcome {
  const { mail, addressHash } = letter;
  const isTest = mail.kind === 'test';
  const waits = (nextAt: number) => ({
    state: 'WAITING' as const,
    nextAt,
    step: mail.step + 1,
  });
  switch (result.state) {
    case 'sent':
      return outcome(letter, {
        ...{ state: 'SENT', error: null, isHandedOver: true },
        providerId: result.providerId,
      });
    case 'refused':
      return outcome(letter, {
        ...{ state: 'FAILED', error: result.error },
        blocked: result.isAddress && !isTest ? addressHash : null,
      });
    case 'retry': {
      const { error, retryAfterMs = 0 } = result;
      const wanted = isTest ? null : retryAt(mail.step, now, now + retryAfterMs);
      // Perhaps it has the mail: it gets it again while it still knows the id.
      const nextAt =
        wanted !== null && isRepeatSafe ? Math.min(wanted, now + REPEAT_SAFE_MS) : wanted;
      return outcome(
        letter,
        nextAt === null ? { state: 'FAILED', error } : { error, ...waits(nextAt) },
      );
    }
    case 'lost': {
      const { error } = result;
      const isOnce = isRepeatSafe || (mail.kind !== 'expiring' && mail.losses === 0);
      const isRepeated = !isTest && isOnce && retryAt(mail.step, now) !== null;
      // Soon, because a sender knows the id of a mail for a day.
      const nextAt = isRepeated ? retryAt(0, now) : null;
      return outcome(letter, {
        ...(nextAt === null ? { state: 'UNKNOWN' as const } : waits(nextAt)),
        ...{ error, isHandedOver: true },
      });
    }
  }
}

/** Sends the mails that are stored. */
export class Mailer {
  /** Null without MAIL, and for one that is wrong. */
  readonly sender: MailSender | null;
  /** Why no mail can be sent; null if mails are sent, and without MAIL. */
  readonly fault: string | null;
  readonly #settings: LetterSettings;
  readonly #limits: typeof AT_CLOUDFLARE;
  /** Rounds whose outcomes are not stored yet. */
  #underWay = 0;
  /** Responses after which mails were to be sent. */
  #bursts = 0;
  /** The end of the work after an earlier response, by `performance.now()`: until then it also sends new mails. */
  #burstUntil = 0;
  #isStopping = false;

  constructor(
    { sender, fault }: { sender: MailSender | null; fault: string | null },
    settings: LetterSettings,
    isOnOneMachine: boolean,
  ) {
    this.sender = sender;
    this.fault = fault;
    this.#settings = settings;
    this.#limits = isOnOneMachine ? ON_ONE_MACHINE : AT_CLOUDFLARE;
  }

  /** Whether mails are stored: those of a wrong setting wait for a right one. */
  get isSetUp(): boolean {
    return this.sender !== null || this.fault !== null;
  }

  /** Sends mails that are due, as many as the queries and requests allow that remain. */
  get task(): Task {
    return {
      failure: 'Mails were not sent',
      most: 0,
      dueSince: mailsDueSince,
      run: async ({ newSender, left, spend }) => {
        const until = performance.now() + MAX_RUN_MS;
        let made = 0;
        while (performance.now() < until && !this.#isStopping) {
          const room = Math.min(this.#limits.inRun - made, MAX_IN_ROUND, left() - ROUND_QUERIES);
          if (room <= 0) return;
          const claimed = await this.#sendDue(newSender, { room, until });
          spend(claimed);
          made += claimed;
          if (claimed < room) return;
        }
      },
    };
  }

  /** Sends new mails after the response to their cause. It never rejects: the scheduled handler sends them otherwise. */
  async sendNew(newSender: () => Sender, ids: readonly number[]): Promise<void> {
    if (ids.length === 0 || this.#isStopping) return;
    const until = performance.now() + MAX_AFTER_RESPONSE_MS;
    const room = this.#limits.afterResponse;
    const sent = this.#limits.isOnOneMachine
      ? this.#sendBurst(newSender, { room, until })
      : this.#sendDue(newSender, { room, until, ids });
    await sent.catch((error) => logFailure('Mails were not sent, and are repeated', error));
  }

  /** Sends mails that are due, and those of later responses meanwhile: many mails of a round need no more queries than one. */
  async #sendBurst(
    newSender: () => Sender,
    { room, until }: { room: number; until: number },
  ): Promise<void> {
    this.#bursts++;
    if (performance.now() < this.#burstUntil || this.#underWay >= MAX_ROUNDS) return;
    this.#burstUntil = until;
    for (let seen = 0, made = 0; seen !== this.#bursts || made > 0; ) {
      if (performance.now() >= until || this.#isStopping) return;
      seen = this.#bursts;
      made = await this.#sendDue(newSender, { room, until });
    }
    this.#burstUntil = 0;
  }

  /**
   * Attempts a mail at once, whatever the limit of the day, because a person waits for it.
   *
   * @param testAddress for a test
   * @returns whether no other attempt is under way
   */
  async sendNow(newSender: () => Sender, id: number, testAddress?: string): Promise<boolean> {
    const { db, now } = newSender();
    const claimed = await claimMail(db, id, now);
    await this.#attempt(newSender, claimed, performance.now() + MAX_RUN_MS, testAddress);
    return claimed.length > 0;
  }

  /** Begins no more attempts, and resolves when the outcomes of those under way are stored. Part of the stop. */
  async drain(): Promise<void> {
    this.#isStopping = true;
    const until = performance.now() + MAX_DRAIN_MS;
    while (this.#underWay > 0 && performance.now() < until) await wait(DRAIN_POLL_MS);
  }

  async #sendDue(
    newSender: () => Sender,
    { room, until, ids }: { room: number; until: number; ids?: readonly number[] },
  ): Promise<number> {
    const { sender } = this;
    if (!sender) return 0;
    const { db, now } = newSender();
    const claimed = await claimMails(db, { sender, room, now, ...(ids && { ids }) });
    await this.#attempt(newSender, claimed, until);
    return claimed.length;
  }

  async #attempt(
    newSender: () => Sender,
    claimed: readonly MailRow[],
    until: number,
    testAddress?: string,
  ): Promise<void> {
    this.#underWay++;
    try {
      await this.#attemptAll(newSender, claimed, until, testAddress);
    } finally {
      this.#underWay--;
    }
  }

  async #attemptAll(
    newSender: () => Sender,
    claimed: readonly MailRow[],
    until: number,
    testAddress?: string,
  ): Promise<void> {
    const { sender } = this;
    if (!sender || claimed.length === 0) return;
    const waiting = await readLetters(newSender, this.#settings, claimed, testAddress);
    const outcomes: MailOutcome[] = [];
    const lane = async (): Promise<void> => {
      while (performance.now() < until && !this.#isStopping) {
        const letter = waiting.shift();
        if (!letter) return;
        const result = await attemptOf(sender, letter);
        // A process that ends before it is stored has perhaps sent the mail.
        if (this.#limits.isOnOneMachine) await storeMailOutcomes(newSender(), [result]);
        else outcomes.push(result);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    await storeMailOutcomes(newSender(), outcomes);
    const { db, now } = newSender();
    await releaseMails(
      db,
      waiting.map(({ mail }) => mail),
      now,
    );
  }
}

async function attemptOf(sender: MailSender, letter: Letter): Promise<MailOutcome> {
  const { message } = letter;
  if ('skipped' in message) return outcome(letter, { state: 'SKIPPED', error: message.skipped });
  const result = await withTimeout(sender.send(message), MAX_ATTEMPT_MS).catch((error) => {
    if (!(error instanceof TimeoutError)) logFailure('An attempt of a mail failed', error);
    return CUT_OFF;
  });
  // The clock moves while the attempt waits.
  return outcomeOf(letter, result, sender, Date.now());
}
