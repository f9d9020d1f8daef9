import type { Event } from '@licet/contract/events';
import type { EventChanges } from '../../../db/events.ts';
import type { WebhookRow } from '../schema.ts';

/** The names around an event, as they are when its message is made. */
export interface EventNames {
  product: string | null;
  customer: string | null;
  /** The last group of the license key. */
  licenseKey: string | null;
}

/** An event as messages show it. */
export interface ShownEvent {
  event: Event & { changes: EventChanges | null };
  /** The time of the event. */
  timestamp: string;
  /** Unknown for a format without names. */
  names: EventNames;
  /** The page of the console; null if it is not public. */
  link: string | null;
}

/** The response to an attempt. */
interface ReceiverResponse {
  status: number;
  headers: Headers;
  body: string;
}

/** A format of messages (8). */
export interface Format {
  /** Whether a webhook with this address has the format unless another one is set. */
  isFor: (url: string) => boolean;
  /** The attempts under way at once for a webhook in an isolate. */
  atOnce: number;
  hasNames: boolean;
  /** The body of a message about an event. */
  message: (shown: ShownEvent) => string;
  /** The body of a test. */
  ping: (webhookId: number, timestamp: string) => string;
  /** The address and the headers of an attempt. @param now milliseconds since 1970 */
  request: (
    webhook: WebhookRow,
    message: { id: number; body: string },
    now: number,
  ) => Promise<{ url: string; headers: Record<string, string> }>;
  /** The limit that a response announces. @param now milliseconds since 1970 */
  limit: (
    response: ReceiverResponse,
    now: number,
  ) => {
    /** The pause for which the receiver asks, in milliseconds; undefined for none. */
    pauseMs: number | undefined;
    /** The milliseconds in which this isolate sends nothing more; 0 for none. */
    closedMs: number;
    /** Whether a failure is the limit alone, and the message may come later. */
    isLimited: boolean;
  };
  /** Why a status switches the webhook off; null if it stays on. */
  isGone: (status: number) => string | null;
  /** Whether the receiver would reject the message again. */
  isFinal: (status: number) => boolean;
}
