"""How a crawl treats the hosts that it asks: robots.txt, Crawl-delay, Retry-After, and limits on
requests at a time.

Pure: a driver passes the time, in seconds by any clock that never goes back, fetches what it is
told to fetch and waits as long as it is told to wait. When a host is due again is kept by the
frontier, which every driver shares.
"""
