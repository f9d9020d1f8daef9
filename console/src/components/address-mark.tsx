import { texts } from '../texts.ts';
import { CircleAlert } from './icons.tsx';

/**
 * The mark of an address of the service that others cannot open, and the cure (3.3).
 *
 * @param tone `warn` where the address may be tried on this machine first
 */
export const AddressMark = ({ tone = 'bad' }: { tone?: 'bad' | 'warn' }) => (
  <p className={`flex gap-2 ${tone === 'bad' ? 'text-bad' : 'text-warn'}`}>
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
