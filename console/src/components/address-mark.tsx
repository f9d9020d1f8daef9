import { texts } from '../texts.ts';
import { CircleAlert } from './icons.tsx';

/** The mark of an address of the service that others cannot open, and the cure (3.3). */
export const AddressMark = () => (
  <p className="flex gap-2 text-bad">
    <CircleAlert size={16} aria-hidden className="mt-0.5 shrink-0" />
    <span>
      {texts.ownAddress}{' '}
      <a
        href="/docs/one-machine#behind-a-proxy"
        target="_blank"
        rel="noreferrer"
        className="rounded-sm underline underline-offset-2"
      >
        {texts.ownAddressGuide}
      </a>
    </span>
  </p>
);
