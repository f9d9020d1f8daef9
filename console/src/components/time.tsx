import { formatAgo, formatClock, formatDate, formatEnd, formatTime, formatUtc } from '../format.ts';

interface TimeProps {
  value: string;
  /**
   * `date` is a day, `time` a minute (the default), `clock` a second of this year, and `ago` the distance from now. `end`
   * is a day too, with the time unless the day ends then.
   */
  show?: keyof typeof FORMATS;
}

const FORMATS = {
  date: formatDate,
  end: formatEnd,
  time: formatTime,
  clock: formatClock,
  ago: formatAgo,
};

/** A time in the viewer's time zone; on hover in UTC. */
export const Time = ({ value, show = 'time' }: TimeProps) => (
  <time dateTime={value} title={formatUtc(value)} className="whitespace-nowrap">
    {FORMATS[show](value)}
  </time>
);
