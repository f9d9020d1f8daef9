import { formatAgo, formatClock, formatDate, formatTime, formatUtc } from '../format.ts';

interface TimeProps {
  value: string;
  /** `date` a day, `time` a minute (the default), `clock` a second of this year, `ago` the distance from now. */
  show?: 'date' | 'time' | 'clock' | 'ago';
}

const FORMATS = { date: formatDate, time: formatTime, clock: formatClock, ago: formatAgo };

/** A time in the viewer's time zone; on hover in UTC. */
export const Time = ({ value, show = 'time' }: TimeProps) => (
  <time dateTime={value} title={formatUtc(value)} className="whitespace-nowrap">
    {FORMATS[show](value)}
  </time>
);
