import {
  formatAgo,
  formatClock,
  formatDate,
  formatEnd,
  formatShort,
  formatTime,
  formatUtc,
} from '../format.ts';

interface TimeProps {
  value: string;
  /**
   * `date` is a day, `time` a minute (the default), `short` a minute of this year or a day of another, `clock` a second
   * of this year, and `ago` the distance from now. `end` is a day too, with the time unless the day ends then.
   */
  show?: keyof typeof FORMATS;
}

const FORMATS = {
  date: formatDate,
  end: formatEnd,
  time: formatTime,
  short: formatShort,
  clock: formatClock,
  ago: formatAgo,
};

/** A time in the viewer's time zone; on hover in UTC. */
export const Time = ({ value, show = 'time' }: TimeProps) => (
  <time dateTime={value} title={formatUtc(value)} className="whitespace-nowrap">
    {FORMATS[show](value)}
  </time>
);

/** An end in a list: below 1,280 px its day alone, because the hour would leave no room for the names beside it. */
export const EndTime = ({ value }: { value: string }) => (
  <>
    <span className="xl:hidden">
      <Time value={value} show="date" />
    </span>
    <span className="max-xl:hidden">
      <Time value={value} show="end" />
    </span>
  </>
);
