"""The add-on for Scrapy projects."""
