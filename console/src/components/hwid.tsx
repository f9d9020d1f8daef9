import { sharedHwid } from '@licet/contract/shared-hwids';
import { screenTexts } from '../screen-texts.ts';
import { Badge } from './badge.tsx';
import { Cut } from './cut.tsx';

/** A hardware ID in a table, marked if many machines share it. */
export const Hwid = ({ value }: { value: string }) => (
  <span className="flex items-center gap-1.5 max-sm:inline-flex max-sm:max-w-full">
    <span className="min-w-0">
      <Cut isMono>{value}</Cut>
    </span>
    {sharedHwid(value) && <Badge tone="warn">{screenTexts.sharedHwid.mark}</Badge>}
  </span>
);
