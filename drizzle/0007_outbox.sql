CREATE TABLE `outbox` (
	`subject` text PRIMARY KEY NOT NULL,
	`revision` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `outbox` SELECT `subject`, max(`revision`) FROM `changes` WHERE NOT `is_published` GROUP BY `subject`;
--> statement-breakpoint
DROP TABLE `changes`;
