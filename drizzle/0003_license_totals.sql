CREATE TABLE `license_totals` (
	`license_id` integer PRIMARY KEY NOT NULL,
	`requests` integer NOT NULL,
	FOREIGN KEY (`license_id`) REFERENCES `licenses`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "license_totals_requests" CHECK("license_totals"."requests" >= 0)
);
