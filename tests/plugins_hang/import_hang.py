import time

print("about to hang")
time.sleep(3600)
