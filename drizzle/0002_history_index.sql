CREATE TABLE `late_requests` (
	`id` integer PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE TABLE `request_blocks` (
	`newest_id` integer PRIMARY KEY NOT NULL,
	`oldest_id` integer NOT NULL,
	`records` integer NOT NULL,
	`refused` integer NOT NULL,
	`is_late` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `request_terms` (
	`id` integer PRIMARY KEY NOT NULL,
	`record_ids` text NOT NULL
);
--> statement-breakpoint
DROP INDEX `requests_key`;--> statement-breakpoint
DROP INDEX `requests_product`;--> statement-breakpoint
DROP INDEX `requests_ip`;--> statement-breakpoint
DROP INDEX `requests_hwid`;--> statement-breakpoint
DROP INDEX `requests_refused`;--> statement-breakpoint
CREATE TRIGGER `requests_late` AFTER INSERT ON `requests`
WHEN new.`id` <= (SELECT max(`newest_id`) FROM `request_blocks`) BEGIN
	INSERT OR IGNORE INTO `late_requests` (`id`) VALUES (new.`id`);
END;
