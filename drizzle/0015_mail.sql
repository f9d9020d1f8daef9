CREATE TABLE `mail_blocks` (
	`address_hash` text NOT NULL,
	`scope` text NOT NULL,
	`reason` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`address_hash`, `scope`),
	CONSTRAINT "mail_blocks_scope" CHECK("mail_blocks"."scope" in ('all', 'reminders')),
	CONSTRAINT "mail_blocks_reason" CHECK("mail_blocks"."reason" in ('BOUNCED', 'COMPLAINED', 'REFUSED', 'UNSUBSCRIBED'))
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `mails` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`kind` text NOT NULL,
	`cause` text NOT NULL,
	`license_id` integer,
	`customer_id` integer,
	`language` text,
	`state` text NOT NULL,
	`attempts` integer NOT NULL,
	`step` integer NOT NULL,
	`next_at` integer,
	`lease_until` integer,
	`losses` integer NOT NULL,
	`asked_from` text,
	`provider_id` text,
	`error` text,
	`created_at` integer NOT NULL,
	`sent_at` integer,
	CONSTRAINT "mails_kind" CHECK("mails"."kind" in ('key', 'link', 'expiring', 'test')),
	CONSTRAINT "mails_state" CHECK("mails"."state" in ('WAITING', 'SENT', 'UNKNOWN', 'FAILED', 'SKIPPED'))
);
--> statement-breakpoint
CREATE UNIQUE INDEX `mails_cause` ON `mails` (`cause`);--> statement-breakpoint
CREATE INDEX `mails_due` ON `mails` (`kind`,`next_at`) WHERE "mails"."next_at" is not null;--> statement-breakpoint
CREATE INDEX `mails_created` ON `mails` (`created_at`);--> statement-breakpoint
CREATE INDEX `mails_sent` ON `mails` (`sent_at`) WHERE "mails"."sent_at" is not null;--> statement-breakpoint
CREATE INDEX `mails_license` ON `mails` (`license_id`) WHERE "mails"."license_id" is not null;--> statement-breakpoint
CREATE INDEX `mails_customer` ON `mails` (`customer_id`) WHERE "mails"."customer_id" is not null;--> statement-breakpoint
CREATE INDEX `mails_asked` ON `mails` (`asked_from`,`created_at`) WHERE "mails"."asked_from" is not null;--> statement-breakpoint
CREATE INDEX `mails_provider` ON `mails` (`provider_id`) WHERE "mails"."provider_id" is not null;--> statement-breakpoint
ALTER TABLE `markets` ADD `mails_key` integer;--> statement-breakpoint
ALTER TABLE `customers` ADD `language` text;