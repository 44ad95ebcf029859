"""What is in a bucket, by Amazon's own client, as one line of JSON.

    s3-bucket.py ENDPOINT BUCKET [make]

objects: key -> size, sha256 and etag; open: the key and the number of parts of each upload that was
neither completed nor aborted.
"""

import hashlib
import json
import sys

import boto3

endpoint, bucket = sys.argv[1:3]
client = boto3.client(
    "s3", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="key",
    aws_secret_access_key="secret")
if "make" in sys.argv[3:]:
    client.create_bucket(Bucket=bucket)
objects = {}
for found in client.list_objects_v2(Bucket=bucket).get("Contents", []):
    digest = hashlib.sha256()
    body = client.get_object(Bucket=bucket, Key=found["Key"])["Body"]
    for part in body.iter_chunks(1 << 20):
        digest.update(part)
    objects[found["Key"]] = {
        "size": found["Size"], "sha256": digest.hexdigest(), "etag": found["ETag"]}
unfinished = []
for upload in client.list_multipart_uploads(Bucket=bucket).get("Uploads", []):
    listed = client.list_parts(Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"])
    unfinished.append({"key": upload["Key"], "parts": len(listed.get("Parts", []))})
print(json.dumps({"objects": objects, "open": unfinished}))
