CREATE TABLE `gaps` (
	`id` integer PRIMARY KEY NOT NULL,
	`requests` integer NOT NULL
);
